from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workshop", "0003_counter_epoch"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="reviewstate",
            options={"verbose_name": "state of reviews", "verbose_name_plural": "states of reviews"},
        ),
        migrations.RenameField(model_name="reviewstate", old_name="workspace", new_name="key"),
        migrations.AlterField(
            model_name="reviewstate",
            name="key",
            field=models.TextField(
                blank=True, help_text="A hash of agent and workspace.", verbose_name="key"
            ),
        ),
        migrations.AddField(
            model_name="reviewstate",
            name="kind",
            field=models.CharField(
                choices=[
                    ("last", "last try"),
                    ("collection", "collection review"),
                    ("experience", "experience review"),
                ],
                default="experience",
                max_length=10,
                verbose_name="kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewstate",
            constraint=models.UniqueConstraint(fields=("kind", "key"), name="review_state_once"),
        ),
    ]
